#define UUID_LEN 16
