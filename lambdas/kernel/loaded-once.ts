/** A failure is not cached: the next call loads the value again. */
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
