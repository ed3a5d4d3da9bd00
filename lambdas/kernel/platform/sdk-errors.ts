/**
 * Whether the SDK had begun an attempt when the error was thrown. Before the first one, it checks and serializes the input and gets
 * credentials: such an error says that nothing was sent, and that the same call fails again (AWS SDK for JavaScript, `retryMiddleware`:
 * an error of an attempt has `$metadata`).
 */
export function isAfterAttempt(error: unknown): boolean {
  return typeof error === 'object' && error !== null && '$metadata' in error && error.$metadata !== undefined;
}
