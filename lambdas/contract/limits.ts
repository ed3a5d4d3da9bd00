/** A request body beyond this is refused with 413 before it is parsed or hashed. Bytes. */
export const MAX_BODY_BYTES = 32 * 1024;
