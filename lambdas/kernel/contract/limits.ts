/** A request body beyond this is refused with 413 before it is parsed or hashed. Bytes. */
export const MAX_BODY_BYTES = 32 * 1024;

/** A callback beyond this is refused with 413 before its signature is computed. Processors' events are far smaller. Bytes. */
export const MAX_CALLBACK_BYTES = 256 * 1024;
