#include "CInflightCodecs.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

struct inflight_jpeg_reader {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    inflight_is_cancelled is_cancelled;
    const void *context;
    int status;
    /// Whether missing data at the end is accepted.
    int accepts_end;
    /// Whether the bytes have ended before the end of the image, and the number of scans that had begun then.
    int has_ended, scans_at_end;
    /// The number of scans that were read to their ends, of an image with several.
    int finished_scans;
    /// The frame header, which a second one overwrites before it is refused.
    struct {
        JDIMENSION width, height;
        int component_count, precision;
        boolean is_progressive, is_arithmetic;
    } frame;
    /// What is damaged: INFLIGHT_JPEG_…
    int damage;
    /// Whether the image was ended where a segment behind a scan is damaged.
    int is_cut;
    /// The number of rows of MCUs before the first that lacks data, or -1.
    int whole_rows;
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
// that affect no pixel: bytes between two markers, unusual values in the optional JFIF, Adobe and ICC headers, and
// parameters of progressive scans in others, where they mean nothing.
static void warn(j_common_ptr info, int level) {
    if (level >= 0) return;
    inflight_jpeg_reader *reader = owner(info);
    switch (info->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_NOT_SEQUENTIAL:
        return;
    case JWRN_JPEG_EOF:
        // The library now reads an end marker, which is right if no data is missing. Arithmetic decoding never lacks
        // data, because an encoder may leave out trailing zeros, so it needs a marker.
        if (!reader->has_ended) reader->scans_at_end = reader->info.input_scan_number;
        reader->has_ended = 1;
        if (!reader->info.arith_code || reader->accepts_end) return;
        break;
    case JWRN_HIT_MARKER:
    case JWRN_MUST_RESYNC:
        if (reader->has_ended && reader->accepts_end) {
            int rows = (int)reader->info.input_iMCU_row;
            if (reader->whole_rows < 0 || rows < reader->whole_rows) reader->whole_rows = rows;
            return;
        }
        reader->damage = INFLIGHT_JPEG_DATA;
        break;
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
        reader->damage = INFLIGHT_JPEG_DATA;
        break;
    }
    fail(info);
}

/// Whether the file has given each coefficient of each component to its last bit.
static int is_complete(const inflight_jpeg_reader *reader) {
    const struct jpeg_decompress_struct *info = &reader->info;
    // The header of a scan that begins behind the end is made up.
    if (reader->has_ended && info->input_scan_number != reader->scans_at_end) return 0;
    for (int index = 0; index < info->num_components; index++) {
        // A component has its table from its first scan on.
        if (!info->comp_info[index].quant_table) return 0;
        if (!info->progressive_mode) continue;
        // The precision of each coefficient: -1 if it is unknown, else the number of bits that are still missing.
        for (int place = 0; place < DCTSIZE2; place++)
            if (!info->coef_bits || info->coef_bits[index][place] != 0) return 0;
    }
    return 1;
}

static void restore_frame(inflight_jpeg_reader *reader) {
    reader->info.image_width = reader->frame.width;
    reader->info.image_height = reader->frame.height;
    reader->info.num_components = reader->frame.component_count;
    reader->info.data_precision = reader->frame.precision;
    reader->info.progressive_mode = reader->frame.is_progressive;
    reader->info.arith_code = reader->frame.is_arithmetic;
}

/// After a failure, returns whether decoding can continue as if the image ended here, because it is complete, or
/// incomplete images are accepted: only a segment behind a scan is damaged.
static int ends_here(inflight_jpeg_reader *reader) {
    restore_frame(reader);
    if (reader->status != INFLIGHT_DAMAGED || reader->is_cut || reader->info.arith_code) return 0;
    // Between two scans, all that have begun are finished.
    if (reader->finished_scans == 0 || reader->finished_scans != reader->info.input_scan_number) return 0;
    if (!reader->accepts_end && !is_complete(reader)) return 0;
    reader->is_cut = 1;
    // The library reads this marker next.
    reader->info.unread_marker = JPEG_EOI;
    return 1;
}

static void silence(j_common_ptr info) { (void)info; }

static void look_around(j_common_ptr info) {
    inflight_jpeg_reader *reader = owner(info);
    if (reader->is_cancelled(reader->context)) {
        reader->status = INFLIGHT_CANCELLED;
        longjmp(reader->escape, 1);
    }
    j_decompress_ptr image = &reader->info;
    if (image->total_iMCU_rows > 0 && image->input_iMCU_row >= image->total_iMCU_rows)
        reader->finished_scans = image->input_scan_number;
    if (image->input_scan_number > INFLIGHT_JPEG_MAXIMUM_SCANS) {
        reader->damage = INFLIGHT_JPEG_SCANS;
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
    reader->whole_rows = -1;
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

int inflight_jpeg_damage(const inflight_jpeg_reader *reader) { return reader->damage; }

int inflight_jpeg_lacks_data(const inflight_jpeg_reader *reader) { return reader->has_ended; }

const char *inflight_jpeg_error(const inflight_jpeg_reader *reader) { return reader->message; }

int inflight_jpeg_read_header(inflight_jpeg_reader *reader, inflight_jpeg_header *header) {
    if (setjmp(reader->escape)) return reader->status;
    jpeg_read_header(&reader->info, TRUE);
    reader->frame.width = reader->info.image_width;
    reader->frame.height = reader->info.image_height;
    reader->frame.component_count = reader->info.num_components;
    reader->frame.precision = reader->info.data_precision;
    reader->frame.is_progressive = reader->info.progressive_mode;
    reader->frame.is_arithmetic = reader->info.arith_code;
    header->width = (int)reader->info.image_width;
    header->height = (int)reader->info.image_height;
    header->component_count = reader->info.num_components;
    switch (reader->info.jpeg_color_space) {
    case JCS_GRAYSCALE: header->color = INFLIGHT_JPEG_GRAY; break;
    case JCS_YCbCr: header->color = INFLIGHT_JPEG_YCC; break;
    case JCS_RGB: header->color = INFLIGHT_JPEG_RGB; break;
    case JCS_CMYK: header->color = INFLIGHT_JPEG_CMYK; break;
    case JCS_YCCK: header->color = INFLIGHT_JPEG_YCCK; break;
    default: return INFLIGHT_DAMAGED;
    }
    return INFLIGHT_OK;
}

int inflight_jpeg_start_planes(
    inflight_jpeg_reader *reader, int denominator, int *width, int *height, inflight_jpeg_plane planes[4]) {
    if (setjmp(reader->escape) && !ends_here(reader)) return reader->status;
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
    if (jpeg_read_raw_data(info, arrays, lines) == 0) return INFLIGHT_DAMAGED;
    *has_more = info->output_scanline < info->output_height;
    return INFLIGHT_OK;
}

int inflight_jpeg_start_rows(inflight_jpeg_reader *reader, int denominator, int *width, int *height) {
    if (setjmp(reader->escape) && !ends_here(reader)) return reader->status;
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
    j_decompress_ptr info = &reader->info;
    for (int done = 0; done < count; done++) {
        JSAMPROW row = rows + (size_t)done * bytes_per_row;
        if (jpeg_read_scanlines(info, &row, 1) == 0) return INFLIGHT_DAMAGED;
        if (reader->whole_rows < 0 || jpeg_has_multiple_scans(info)) continue;
        int whole = reader->whole_rows * info->max_v_samp_factor * info->min_DCT_scaled_size;
        // The chroma of the last row is interpolated with the row below it.
        if (info->max_v_samp_factor > 1) whole--;
        if ((int)info->output_scanline > whole) return INFLIGHT_DAMAGED;
    }
    return INFLIGHT_OK;
}

int inflight_jpeg_finish(inflight_jpeg_reader *reader) {
    if (setjmp(reader->escape)) {
        restore_frame(reader);
        // All data of an image with a single scan has been read.
        int is_whole = !jpeg_has_multiple_scans(&reader->info) && !reader->info.arith_code && is_complete(reader);
        return reader->status == INFLIGHT_DAMAGED && is_whole ? INFLIGHT_OK : reader->status;
    }
    // The call releases the components, and may find the beginning of another scan.
    int is_whole = is_complete(reader);
    jpeg_finish_decompress(&reader->info);
    if (!reader->has_ended || reader->accepts_end) return INFLIGHT_OK;
    return is_whole && reader->info.input_scan_number == reader->scans_at_end ? INFLIGHT_OK : INFLIGHT_DAMAGED;
}

void inflight_free(void *memory) { free(memory); }
