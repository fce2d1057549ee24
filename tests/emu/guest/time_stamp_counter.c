/* A second by the time stamp counter, and how far the clock is past it afterwards; in ns. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static uint64_t counter(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static uint64_t counter_and_processor(uint32_t *processor)
{
	uint32_t low, high;
	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*processor));
	return (uint64_t)high << 32 | low;
}

int main(void)
{
	struct timespec second = {1, 0}, now;
	uint32_t processor = 9;
	uint64_t before = counter(), after;

	nanosleep(&second, 0);
	after = counter_and_processor(&processor);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("[%lu, %lu, %u]", after - before,
	       now.tv_sec * 1000000000ul + now.tv_nsec - after, processor);
	return 0;
}
