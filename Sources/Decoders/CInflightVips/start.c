#include "CInflightVips.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vips/vips.h>
#include <vips/vector.h>

#include "message.h"

int inflight_vips_fail(char message[INFLIGHT_VIPS_MESSAGE]) {
    char *text = vips_error_buffer_copy();
    g_strstrip(text);
    snprintf(message, INFLIGHT_VIPS_MESSAGE, "%s", *text ? text : "the decoder reported no reason");
    g_free(text);
    return INFLIGHT_VIPS_FAILED;
}

// Warnings concern skipped metadata, and would go to standard error.
static void ignore(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    (void)domain, (void)level, (void)message, (void)data;
}

static unsigned drawn_images;

// Draws an image of one pixel of each format that an SVG document may embed, which also loads librsvg's loader for it.
static void find_drawn_images(void) {
    static const struct {
        unsigned format;
        const char *data;
    } images[] = {
        {0, "png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"},
        {INFLIGHT_VIPS_DRAWS_GIF, "gif;base64,R0lGODdhAQABAIEAAP8AAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw=="},
        {INFLIGHT_VIPS_DRAWS_BMP,
            "bmp;base64,Qk06AAAAAAAAADYAAAAoAAAAAQAAAAEAAAABABgAAAAAAAQAAADEDgAAxA4AAAAAAAAAAAAAAAD/AA=="},
        {INFLIGHT_VIPS_DRAWS_WEBP, "webp;base64,UklGRhwAAABXRUJQVlA4TA8AAAAvAAAAAAcQ/Y/+ByKi/wEA"},
        {INFLIGHT_VIPS_DRAWS_SVG,
            "svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSIxIiBoZWlnaHQ9IjEiPjxyZWN0IHdpZHRo"
            "PSIxIiBoZWlnaHQ9IjEiIGZpbGw9InJlZCIvPjwvc3ZnPg=="},
    };
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        char *drawing = g_strdup_printf(
            "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='1' height='1'>"
            "<image width='1' height='1' xlink:href='data:image/%s'/></svg>",
            images[i].data);
        VipsImage *image = NULL;
        if (!vips_svgload_buffer(drawing, strlen(drawing), &image, NULL)) {
            VipsRegion *region = vips_region_new(image);
            VipsRect all = {0, 0, 1, 1};
            if (region && !vips_region_prepare(region, &all) && image->Bands == 4
                && VIPS_REGION_ADDR(region, 0, 0)[3] == 255)
                drawn_images |= images[i].format;
            if (region) g_object_unref(region);
            g_object_unref(image);
        }
        g_free(drawing);
    }
    vips_error_clear();
}

unsigned inflight_vips_drawn_images(void) { return drawn_images; }

// Loads files that would otherwise be read by the first image that needs them, which fails in the sandbox: the time
// zone (for profiles), translations, and the generic fonts. Errors are ignored: without fonts, text is not drawn.
static void warm_up(void) {
    static const char drawing[] =
        "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='9'><text y='8' font-size='8'>"
        "Aa<tspan font-weight='bold'>Aa</tspan>"
        "<tspan font-family='sans-serif'>Aa</tspan><tspan font-family='sans-serif' font-weight='bold'>Aa</tspan>"
        "<tspan font-family='serif'>Aa</tspan><tspan font-family='monospace'>Aa</tspan></text></svg>";
    tzset();
    VipsImage *image = NULL;
    if (!vips_svgload_buffer((void *)drawing, sizeof drawing - 1, &image, NULL)) {
        VipsRegion *region = vips_region_new(image);
        VipsRect all = {0, 0, image->Xsize, image->Ysize};
        if (region) {
            vips_region_prepare(region, &all);
            g_object_unref(region);
        }
        g_object_unref(image);
    }
    vips_error_clear();
    find_drawn_images();
}

int inflight_vips_start(char message[INFLIGHT_VIPS_MESSAGE]) {
    // Disable run-time code generation, which needs memory that is both writable and executable.
    g_setenv("VIPS_NOVECTOR", "1", TRUE);
    g_setenv("ORC_CODE", "backup", TRUE);
    if (VIPS_INIT("inflight")) return inflight_vips_fail(message);
    vips_vector_set_enabled(FALSE);
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    g_log_set_handler("VIPS", G_LOG_LEVEL_MASK, ignore, NULL);
    vips_operation_block_set("VipsForeignLoad", TRUE);
    vips_operation_block_set("VipsForeignLoadHeifBuffer", FALSE);
    vips_operation_block_set("VipsForeignLoadSvgBuffer", FALSE);
    warm_up();
    return INFLIGHT_VIPS_OK;
}

static unsigned has(const char *operation, unsigned ability) {
    return vips_type_find("VipsOperation", operation) ? ability : 0;
}

// libheif loads its codecs as plug-ins. Nothing here links to libheif, so query it only if libvips has loaded it. If it
// cannot be queried, assume that it has all codecs.
static unsigned heif_abilities(void) {
    enum { HEVC = 1, AV1 = 4 };
    void *library = dlopen("libheif.so.1", RTLD_NOLOAD | RTLD_LAZY);
    int (*decodes)(int) = NULL, (*encodes)(int) = NULL;
    if (library) {
        // The assignment that POSIX shows for dlsym: C has no cast from object pointers to function pointers.
        *(void **)&decodes = dlsym(library, "heif_have_decoder_for_format");
        *(void **)&encodes = dlsym(library, "heif_have_encoder_for_format");
    }
    unsigned abilities = 0;
    if (!decodes || decodes(AV1)) abilities |= INFLIGHT_VIPS_DECODES_AV1;
    if (!decodes || decodes(HEVC)) abilities |= INFLIGHT_VIPS_DECODES_HEVC;
    if (!encodes || encodes(AV1)) abilities |= INFLIGHT_VIPS_ENCODES_AV1;
    if (library) dlclose(library);
    return abilities;
}

unsigned inflight_vips_abilities(void) {
    return has("heifload_buffer", INFLIGHT_VIPS_LOADS_HEIF) | has("svgload_buffer", INFLIGHT_VIPS_LOADS_SVG)
        | has("heifsave_buffer", INFLIGHT_VIPS_SAVES_HEIF)
        | heif_abilities();
}

int inflight_vips_sniffs(const uint8_t *bytes, size_t count) {
    VipsImage *image = vips_image_new_from_buffer(bytes, count, "", NULL);
    vips_error_clear();
    if (!image) return 0;
    g_object_unref(image);
    return 1;
}

void inflight_vips_free(void *memory) { g_free(memory); }
