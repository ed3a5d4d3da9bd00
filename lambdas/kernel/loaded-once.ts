/**
 * Loads a value at its first use and keeps it. A failure is not kept: the next use tries again, instead of failing for the life of
 * the process.
 */
export function loadedOnce<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  return () => {
    const now = (loading ??= load());
    now.catch(() => {
      if (loading === now) loading = undefined;
    });
    return now;
  };
}
