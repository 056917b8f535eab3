#include "CInflightCodecs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

struct inflight_gif_reader {
    GifFileType *file;
    const uint8_t *bytes;
    size_t count;
    size_t position;
};

static int read_bytes(GifFileType *file, GifByteType *target, int count) {
    inflight_gif_reader *reader = file->UserData;
    size_t left = reader->count - reader->position;
    if (count < 0) return 0;
    size_t given = (size_t)count < left ? (size_t)count : left;
    memcpy(target, reader->bytes + reader->position, given);
    reader->position += given;
    return (int)given;
}

inflight_gif_reader *inflight_gif_open(const uint8_t *bytes, size_t count) {
    inflight_gif_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->bytes = bytes;
    reader->count = count;
    int error = 0;
    reader->file = DGifOpen(reader, read_bytes, &error);
    if (reader->file) return reader;
    free(reader);
    return NULL;
}

void inflight_gif_seek(inflight_gif_reader *reader, size_t position) {
    reader->position = position < reader->count ? position : reader->count;
}

int inflight_gif_read_frame(inflight_gif_reader *reader, inflight_gif_frame *frame) {
    GifFileType *file = reader->file;
    memset(frame, 0, sizeof *frame);
    frame->transparent = NO_TRANSPARENT_COLOR;
    for (;;) {
        GifRecordType type;
        if (DGifGetRecordType(file, &type) != GIF_OK) return INFLIGHT_DAMAGED;
        if (type == IMAGE_DESC_RECORD_TYPE) break;
        if (type != EXTENSION_RECORD_TYPE) return INFLIGHT_DAMAGED;
        int code = 0;
        GifByteType *block = NULL;
        if (DGifGetExtension(file, &code, &block) != GIF_OK) return INFLIGHT_DAMAGED;
        if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] >= 4) {
            GraphicsControlBlock control;
            if (DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
                frame->transparent = control.TransparentColor;
        }
        while (block)
            if (DGifGetExtensionNext(file, &block) != GIF_OK) return INFLIGHT_DAMAGED;
    }
    if (DGifGetImageDesc(file) != GIF_OK) return INFLIGHT_DAMAGED;
    frame->canvas_width = file->SWidth;
    frame->canvas_height = file->SHeight;
    frame->left = file->Image.Left;
    frame->top = file->Image.Top;
    frame->width = file->Image.Width;
    frame->height = file->Image.Height;
    frame->is_interlaced = file->Image.Interlace;
    const ColorMapObject *map = file->Image.ColorMap ? file->Image.ColorMap : file->SColorMap;
    for (int index = 0; map && index < map->ColorCount && index < 256; index++) {
        frame->palette[index][0] = map->Colors[index].Red;
        frame->palette[index][1] = map->Colors[index].Green;
        frame->palette[index][2] = map->Colors[index].Blue;
    }
    return INFLIGHT_OK;
}

int inflight_gif_read_row(inflight_gif_reader *reader, uint8_t *indices, int width) {
    return DGifGetLine(reader->file, indices, width) == GIF_OK ? INFLIGHT_OK : INFLIGHT_DAMAGED;
}

const char *inflight_gif_error(const inflight_gif_reader *reader) {
    const char *text = reader->file->Error ? GifErrorString(reader->file->Error) : NULL;
    return text ? text : "malformed blocks";
}

void inflight_gif_close(inflight_gif_reader *reader) {
    DGifCloseFile(reader->file, NULL);
    free(reader);
}
