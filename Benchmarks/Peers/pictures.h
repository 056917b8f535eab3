// Shared by the decoding peers: reads a folder's images into memory, measures time, writes PPM files.
#ifndef PICTURES_H
#define PICTURES_H
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct picture {
    char name[256];
    unsigned char *bytes;
    size_t count;
};

static struct picture pictures[256];
static int picture_count;

static inline void fail(const char *what) {
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

static inline double wall_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline int by_name(const void *left, const void *right) {
    return strcmp(((const struct picture *)left)->name, ((const struct picture *)right)->name);
}

static inline void read_pictures(const char *folder) {
    DIR *directory = opendir(folder);
    if (!directory) fail(folder);
    for (struct dirent *entry; (entry = readdir(directory)) && picture_count < 256;) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length > 255) continue;
        struct picture *picture = &pictures[picture_count++];
        memcpy(picture->name, entry->d_name, length + 1);
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, picture->name);
        FILE *file = fopen(path, "rb");
        if (!file) fail(path);
        fseek(file, 0, SEEK_END);
        picture->count = (size_t)ftell(file);
        rewind(file);
        picture->bytes = malloc(picture->count);
        if (!picture->bytes || fread(picture->bytes, 1, picture->count, file) != picture->count) fail(path);
        fclose(file);
    }
    closedir(directory);
    if (!picture_count) fail("no images in the folder");
    qsort(pictures, (size_t)picture_count, sizeof *pictures, by_name);
}

// Writes `width` × `height` RGB pixels to FOLDER/NAME.ppm.
static inline void write_ppm(
    const char *folder, const char *name, const unsigned char *pixels, int width, int height) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.ppm", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file) fail(path);
    fprintf(file, "P6 %d %d 255\n", width, height);
    fwrite(pixels, 3, (size_t)width * (size_t)height, file);
    fclose(file);
}

// One thread of `measure`, which calls `work` for one image after the other on `threads` threads until `seconds` are
// over, and prints the number of images.
struct worker {
    pthread_t thread;
    void (*work)(const struct picture *);
    int first;
    double end;
    long done;
};

static inline void *run_worker(void *context) {
    struct worker *worker = context;
    for (int index = worker->first; wall_seconds() < worker->end; index++) {
        worker->work(&pictures[index % picture_count]);
        worker->done++;
    }
    return NULL;
}

static inline void measure(void (*work)(const struct picture *), int threads, double seconds) {
    struct worker workers[16];
    if (threads < 1 || threads > 16) fail("THREADS must be 1 to 16");
    work(&pictures[0]);
    double wall = wall_seconds(), cpu = cpu_seconds();
    for (int index = 0; index < threads; index++) {
        workers[index] = (struct worker){.work = work, .first = index, .end = wall + seconds};
        if (pthread_create(&workers[index].thread, NULL, run_worker, &workers[index])) fail("starting a thread");
    }
    long done = 0;
    for (int index = 0; index < threads; index++) {
        pthread_join(workers[index].thread, NULL);
        done += workers[index].done;
    }
    printf("pictures=%ld seconds=%.6f cpu=%.6f\n", done, wall_seconds() - wall, cpu_seconds() - cpu);
}
#endif
