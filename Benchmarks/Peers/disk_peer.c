// Peers of the disk cache: plain files, and SQLite blobs.
//
//     disk_peer read FOLDER COUNT BYTES     read whole files in random order and compute the cache's checksum
//     disk_peer files FOLDER COUNT BYTES    write files and rename them
//     disk_peer synced FOLDER COUNT BYTES   write files, fsync and rename them
//     disk_peer blobs FOLDER COUNT BYTES    write each blob in its own transaction: WAL, synchronous=NORMAL
//     disk_peer blobs-read FOLDER COUNT BYTES   read those blobs in random order and compute the checksum
//
// Prints `each_us=… cpu_us=…`: microseconds of wall time and of CPU time per operation.

#include "CInflightSQLite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static double wall, cpu;

static void begin(void) {
    wall = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void end(size_t count, uint64_t sum) {
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("each_us=%f cpu_us=%f sum=%llu\n", wall / count * 1e6, cpu / count * 1e6, (unsigned long long)(sum & 0xFFFF));
}

static void need(int is_well, const char *what) {
    if (is_well) return;
    perror(what);
    exit(1);
}

static uint64_t state = 42;

static uint64_t random_word(void) {
    uint64_t mixed = state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
}

static void fill(char *bytes, size_t count) {
    for (size_t i = 0; i + 8 <= count; i += 8) {
        uint64_t word = random_word();
        memcpy(bytes + i, &word, 8);
    }
}

static uint64_t checksum(const char *bytes, size_t count) {
    struct inflight_checksum sum;
    inflight_checksum_begin(&sum, 1);
    inflight_checksum_add(&sum, bytes, count);
    return inflight_checksum_end(&sum);
}

static void write_file(const char *folder, size_t index, const char *bytes, size_t count, int waits) {
    char name[4096], other[4096];
    snprintf(name, sizeof name, "%s/%zu.new", folder, index);
    snprintf(other, sizeof other, "%s/%zu", folder, index);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(file >= 0 && write(file, bytes, count) == (ssize_t)count, "write");
    if (waits) need(fsync(file) == 0, "fsync");
    close(file);
    need(rename(name, other) == 0, "rename");
}

static uint64_t read_file(const char *folder, size_t index) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%zu", folder, index);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    struct stat status;
    need(file >= 0 && fstat(file, &status) == 0, "open");
    char *room = malloc(status.st_size);
    need(read(file, room, status.st_size) == status.st_size, "read");
    close(file);
    uint64_t sum = checksum(room, status.st_size);
    free(room);
    return sum;
}

static sqlite3 *opened(const char *folder) {
    char name[4096];
    snprintf(name, sizeof name, "%s/peer.sqlite", folder);
    sqlite3 *database;
    need(sqlite3_open(name, &database) == SQLITE_OK, "sqlite3_open");
    sqlite3_exec(
        database,
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE IF NOT EXISTS blob (key TEXT PRIMARY KEY, bytes BLOB)",
        0, 0, 0);
    return database;
}

static void each_blob(const char *folder, size_t count, const char *bytes, size_t size, int reads) {
    sqlite3 *database = opened(folder);
    sqlite3_stmt *statement;
    const char *text = reads ? "SELECT bytes FROM blob WHERE key = ?" : "INSERT OR REPLACE INTO blob VALUES (?, ?)";
    need(sqlite3_prepare_v2(database, text, -1, &statement, 0) == SQLITE_OK, "prepare");
    uint64_t sum = 0;
    begin();
    for (size_t i = 0; i < count; i++) {
        char key[64];
        snprintf(key, sizeof key, "http://bench/%zu", reads ? (size_t)(random_word() % count) : i);
        sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
        if (!reads) sqlite3_bind_blob(statement, 2, bytes, (int)size, SQLITE_STATIC);
        int status = sqlite3_step(statement);
        need(status == (reads ? SQLITE_ROW : SQLITE_DONE), "step");
        if (reads) {
            size_t found = sqlite3_column_bytes(statement, 0);
            char *copy = malloc(found);
            memcpy(copy, sqlite3_column_blob(statement, 0), found);
            sum ^= checksum(copy, found);
            free(copy);
        }
        sqlite3_reset(statement);
    }
    end(count, sum);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

int main(int argc, char **argv) {
    if (argc != 5) return 64;
    const char *what = argv[1], *folder = argv[2];
    size_t count = strtoul(argv[3], 0, 10), size = strtoul(argv[4], 0, 10);
    char *bytes = malloc(size + 8);
    fill(bytes, size + 8);
    if (strcmp(what, "blobs") == 0 || strcmp(what, "blobs-read") == 0) {
        each_blob(folder, count, bytes, size, strcmp(what, "blobs-read") == 0);
        return 0;
    }
    uint64_t sum = 0;
    int reads = strcmp(what, "read") == 0;
    if (reads)
        for (size_t i = 0; i < count; i++) write_file(folder, i, bytes, size, 0);
    begin();
    for (size_t i = 0; i < count; i++) {
        if (reads) {
            sum ^= read_file(folder, random_word() % count);
        } else {
            write_file(folder, i, bytes, size, strcmp(what, "synced") == 0);
        }
    }
    end(count, sum);
    return 0;
}
