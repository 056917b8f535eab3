#include "CInflightCurl.h"
