#include "CInflightCodecs.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

// An image that needs more passes over its coefficients is refused: it was made to waste CPU time.
enum { MAXIMUM_SCANS = 500 };

struct inflight_jpeg_reader {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    inflight_is_cancelled is_cancelled;
    const void *context;
    int status;
    int accepts_end;
    char message[JMSG_LENGTH_MAX];
};

static inflight_jpeg_reader *owner(j_common_ptr info) { return info->client_data; }

static void fail(j_common_ptr info) {
    inflight_jpeg_reader *reader = owner(info);
    info->err->format_message(info, reader->message);
    reader->status = info->err->msg_code == JERR_OUT_OF_MEMORY ? INFLIGHT_NO_MEMORY : INFLIGHT_DAMAGED;
    longjmp(reader->escape, 1);
}

// After a warning, libjpeg continues with wrong pixels, so a warning ends decoding here. Exceptions are the warnings
// that affect no pixel: bytes between two markers, and unusual values in the optional JFIF, Adobe and ICC headers.
static void warn(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
        return;
    case JWRN_JPEG_EOF:
        if (owner(info)->accepts_end) return;
        fail(info);
        return;
    default:
        fail(info);
    }
}

static void silence(j_common_ptr info) { (void)info; }

static void look_around(j_common_ptr info) {
    inflight_jpeg_reader *reader = owner(info);
    if (reader->is_cancelled(reader->context)) {
        reader->status = INFLIGHT_CANCELLED;
        longjmp(reader->escape, 1);
    }
    if (((j_decompress_ptr)info)->input_scan_number > MAXIMUM_SCANS) {
        snprintf(reader->message, sizeof reader->message, "more than %d scans", MAXIMUM_SCANS);
        reader->status = INFLIGHT_DAMAGED;
        longjmp(reader->escape, 1);
    }
}

inflight_jpeg_reader *inflight_jpeg_open(
    const uint8_t *bytes, size_t count, inflight_is_cancelled is_cancelled, const void *context) {
    inflight_jpeg_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->is_cancelled = is_cancelled;
    reader->context = context;
    reader->info.err = jpeg_std_error(&reader->errors);
    reader->errors.error_exit = fail;
    reader->errors.emit_message = warn;
    reader->errors.output_message = silence;
    reader->info.client_data = reader;
    if (setjmp(reader->escape)) {
        inflight_jpeg_close(reader);
        return NULL;
    }
    jpeg_create_decompress(&reader->info);
    reader->progress.progress_monitor = look_around;
    reader->info.progress = &reader->progress;
    jpeg_mem_src(&reader->info, bytes, count);
    return reader;
}

void inflight_jpeg_close(inflight_jpeg_reader *reader) {
    jpeg_destroy_decompress(&reader->info);
    free(reader);
}

void inflight_jpeg_accept_end(inflight_jpeg_reader *reader) { reader->accepts_end = 1; }

int inflight_jpeg_scan_number(const inflight_jpeg_reader *reader) { return reader->info.input_scan_number; }

const char *inflight_jpeg_error(const inflight_jpeg_reader *reader) { return reader->message; }

int inflight_jpeg_read_header(inflight_jpeg_reader *reader, inflight_jpeg_header *header) {
    if (setjmp(reader->escape)) return reader->status;
    jpeg_read_header(&reader->info, TRUE);
    header->width = (int)reader->info.image_width;
    header->height = (int)reader->info.image_height;
    header->component_count = reader->info.num_components;
    header->is_inverted = reader->info.saw_Adobe_marker;
    switch (reader->info.jpeg_color_space) {
    case JCS_GRAYSCALE: header->color = INFLIGHT_JPEG_GRAY; break;
    case JCS_YCbCr: header->color = INFLIGHT_JPEG_YCC; break;
    case JCS_RGB: header->color = INFLIGHT_JPEG_RGB; break;
    case JCS_CMYK: header->color = INFLIGHT_JPEG_CMYK; break;
    case JCS_YCCK: header->color = INFLIGHT_JPEG_YCCK; break;
    default:
        snprintf(reader->message, sizeof reader->message, "invalid colour components: %d", header->component_count);
        return INFLIGHT_DAMAGED;
    }
    return INFLIGHT_OK;
}

int inflight_jpeg_start_planes(
    inflight_jpeg_reader *reader, int denominator, int *width, int *height, inflight_jpeg_plane planes[4]) {
    if (setjmp(reader->escape)) return reader->status;
    j_decompress_ptr info = &reader->info;
    info->raw_data_out = TRUE;
    info->out_color_space = info->jpeg_color_space;
    info->scale_num = 1;
    info->scale_denom = (unsigned)denominator;
    jpeg_start_decompress(info);
    *width = (int)info->output_width;
    *height = (int)info->output_height;
    for (int index = 0; index < info->num_components; index++) {
        jpeg_component_info *component = &info->comp_info[index];
        planes[index].width = (int)component->downsampled_width;
        planes[index].height = (int)component->downsampled_height;
        planes[index].rows_per_read = component->v_samp_factor * component->DCT_scaled_size;
        // libjpeg writes whole blocks, and whole groups of them.
        planes[index].bytes_per_row =
            ((int)component->width_in_blocks + component->h_samp_factor) * component->DCT_scaled_size;
    }
    return INFLIGHT_OK;
}

int inflight_jpeg_read_planes(inflight_jpeg_reader *reader, uint8_t *const planes[4], int *has_more) {
    if (setjmp(reader->escape)) return reader->status;
    j_decompress_ptr info = &reader->info;
    JSAMPROW rows[4][MAX_SAMP_FACTOR * DCTSIZE];
    JSAMPARRAY arrays[4];
    for (int index = 0; index < info->num_components; index++) {
        jpeg_component_info *component = &info->comp_info[index];
        int count = component->v_samp_factor * component->DCT_scaled_size;
        size_t stride = ((size_t)component->width_in_blocks + (size_t)component->h_samp_factor)
            * (size_t)component->DCT_scaled_size;
        for (int row = 0; row < count; row++) rows[index][row] = planes[index] + (size_t)row * stride;
        arrays[index] = rows[index];
    }
    JDIMENSION lines = (JDIMENSION)(info->max_v_samp_factor * info->min_DCT_scaled_size);
    if (jpeg_read_raw_data(info, arrays, lines) == 0) {
        snprintf(reader->message, sizeof reader->message, "unexpected end of file");
        return INFLIGHT_DAMAGED;
    }
    *has_more = info->output_scanline < info->output_height;
    return INFLIGHT_OK;
}

int inflight_jpeg_start_rows(inflight_jpeg_reader *reader, int denominator, int *width, int *height) {
    if (setjmp(reader->escape)) return reader->status;
    j_decompress_ptr info = &reader->info;
    int is_cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = is_cmyk ? JCS_CMYK : JCS_EXT_RGBA;
    info->scale_num = 1;
    info->scale_denom = (unsigned)denominator;
    jpeg_start_decompress(info);
    *width = (int)info->output_width;
    *height = (int)info->output_height;
    return INFLIGHT_OK;
}

int inflight_jpeg_read_rows(inflight_jpeg_reader *reader, uint8_t *rows, size_t bytes_per_row, int count) {
    if (setjmp(reader->escape)) return reader->status;
    for (int done = 0; done < count;) {
        JSAMPROW row = rows + (size_t)done * bytes_per_row;
        if (jpeg_read_scanlines(&reader->info, &row, 1) == 0) {
            snprintf(reader->message, sizeof reader->message, "unexpected end of file");
            return INFLIGHT_DAMAGED;
        }
        done++;
    }
    return INFLIGHT_OK;
}

int inflight_jpeg_finish(inflight_jpeg_reader *reader) {
    if (setjmp(reader->escape)) return reader->status;
    jpeg_finish_decompress(&reader->info);
    return INFLIGHT_OK;
}

void inflight_free(void *memory) { free(memory); }
