import type { SandboxLine } from './sandbox-server.ts';

/** A network fault: whether the call arrives, and the answer that replaces its own. */
const TROUBLES: Readonly<Record<string, { arrives: boolean; status: number; headers?: Record<string, string> }>> = {
  tok_flaky: { arrives: false, status: 500 },
  tok_timeout_charged: { arrives: true, status: 504 },
  tok_timeout_not_charged: { arrives: false, status: 504 },
  tok_malformed: { arrives: true, status: 200 },
  tok_unauthorized: { arrives: false, status: 401 },
  tok_rate_limited: { arrives: false, status: 429, headers: { 'retry-after': '1' } },
};

const CHANGE_PATH = /^\/charges\/[^/]+\/(capture|void|refunds)$/;

export interface TroubledLine {
  readonly line: SandboxLine;
  /** The next `count` captures, voids and refunds behave like the first send of that source. */
  readonly failNextChange: (count: number, source: string) => void;
}

/** A network to the sandbox that fails on demand, because the sandbox itself has magic sources for charges only. */
export function troubledLine(): TroubledLine {
  let failures = { count: 0, source: '' };
  return {
    line: async (call, send) => {
      if (failures.count === 0 || !CHANGE_PATH.test(call.path)) return send(call);
      failures = { ...failures, count: failures.count - 1 };
      const { arrives, status, headers = {} } = TROUBLES[failures.source] ?? unknown(failures.source);
      if (arrives) await send(call);
      return { status, headers, body: '{"object":"char' };
    },
    failNextChange: (count, source) => {
      failures = { count, source };
    },
  };
}

function unknown(source: string): never {
  throw new Error(`there is no trouble ${source}`);
}
