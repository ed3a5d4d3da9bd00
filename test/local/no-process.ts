/** Above the maximum process id. */
export const NO_PROCESS = 2 ** 30;
