/**
 * Returns a function that loads a value at its first call and keeps it. A failure is not kept: the next call tries
 * again, so one failure does not last for the life of the process.
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
