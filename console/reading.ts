import {
  type InfiniteData,
  InfiniteQueryObserver,
  type InfiniteQueryObserverResult,
  QueryClient,
  QueryObserver,
  type QueryObserverResult,
} from '@tanstack/query-core';
import { createContext } from 'preact';
import { useContext, useEffect, useMemo, useReducer } from 'preact/hooks';
import { type Api, Refused } from './api.ts';

interface SessionTools {
  readonly api: Api;
  readonly client: QueryClient;
}

const Session = createContext<SessionTools | undefined>(undefined);
export const SessionProvider = Session.Provider;

const FRESH_MS = 10_000;
const MAX_RETRIES = 2;
const FIRST_DELAY_MS = 500;

function isTransient(error: unknown): boolean {
  return !(error instanceof Refused) || error.status >= 500 || error.status === 429;
}

export function createClient(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        refetchOnWindowFocus: false,
        retry: (failures, error) => failures < MAX_RETRIES && isTransient(error),
        retryDelay: (failures) => FIRST_DELAY_MS * 2 ** failures,
        // Sends requests without internet access, too, because the API may be in the local network.
        networkMode: 'always',
      },
    },
  });
  client.mount();
  return client;
}

function useSession(): SessionTools {
  const session = useContext(Session);
  if (session === undefined) throw new Error('useSession must be called after the operator has signed in');
  return session;
}

export function useApi(): Api {
  return useSession().api;
}

/** @param tenant the tenant and mode, for example `ten_desk/live` */
export function useApiOf(tenant: string | undefined): Api {
  const api = useApi();
  return useMemo(() => (tenant === undefined ? api : api.of(tenant)), [api, tenant]);
}

export function useRefresh(): () => void {
  const { client } = useSession();
  return () => void client.invalidateQueries();
}

export interface Read<Answer> {
  readonly answer?: Answer;
  readonly error?: unknown;
  readonly again: () => void;
}

interface HowToRead {
  /** The tenant and mode, for example `ten_desk/live`. Absent for a route that only operators call. */
  readonly tenant?: string | undefined;
}

/**
 * The polling interval, in milliseconds; or a function that returns the interval after a response, and undefined to
 * stop. The function must be the same in every rendering.
 */
export type Polling<Answer> = number | ((answer: Answer) => number | undefined);

interface HowOften<Answer> extends HowToRead {
  /** @default the path is read only once */
  readonly everyMs?: Polling<Answer>;
}

function intervalOf<Answer>(everyMs: Polling<Answer> | undefined, answer: Answer | undefined): number | false {
  if (typeof everyMs !== 'function') return everyMs ?? false;
  return (answer === undefined ? undefined : everyMs(answer)) ?? false;
}

export function useRead<Answer>(path: string, tenant?: string, everyMs?: Polling<Answer>): Read<Answer> {
  return useAsked<Answer>(path, { tenant, ...(everyMs === undefined ? {} : { everyMs }) }, ask<Answer>);
}

function ask<Answer>(api: Api, path: string): Promise<Answer> {
  return api.get<Answer>(path);
}

const MAX_PAGES = 40;

interface NumberedPage {
  readonly data: readonly unknown[];
  readonly has_more: boolean;
  readonly next_sequence: number | null;
}

/** `has_more` of the result is true if there were more than MAX_PAGES pages. */
export function useWhole<Answer extends NumberedPage>(path: string): Read<Answer> {
  return useAsked(path, {}, askWhole<Answer>);
}

async function askWhole<Answer extends NumberedPage>(api: Api, path: string): Promise<Answer> {
  let last = await api.get<Answer>(path);
  const data = [...last.data];
  for (let pages = 1; last.has_more && pages < MAX_PAGES; pages += 1) {
    last = await api.get<Answer>(`${path}?starting_after=${last.next_sequence}`);
    data.push(...last.data);
  }
  return { ...last, data };
}

interface Observer<Result> {
  subscribe(listener: () => void): () => void;
  getCurrentResult(): Result;
}

function useObserver<Result>(observer: Observer<Result>): Result {
  const [, redraw] = useReducer<number, void>((turn) => turn + 1, 0);
  useEffect(() => observer.subscribe(() => redraw()), [observer]);
  return observer.getCurrentResult();
}

/** `how` must be the same function for the same path. */
export function useAsked<Answer>(
  path: string,
  { tenant, everyMs }: HowOften<Answer>,
  how: (api: Api, path: string) => Promise<Answer>,
): Read<Answer> {
  const { client } = useSession();
  const api = useApiOf(tenant);
  const observer = useMemo(
    () =>
      new QueryObserver<Answer>(client, {
        queryKey: [path, tenant],
        queryFn: () => how(api, path),
        refetchInterval: ({ state }) => intervalOf(everyMs, state.data),
        refetchOnWindowFocus: everyMs !== undefined,
      }),
    [client, api, path, tenant, how, everyMs],
  );
  const { data, error, refetch } = useObserver<QueryObserverResult<Answer>>(observer);
  return { ...(data === undefined ? {} : { answer: data }), ...failure(error), again: () => void refetch() };
}

function failure(error: unknown): { readonly error?: unknown } {
  return error === null || error === undefined ? {} : { error };
}

export interface Page<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
  readonly next_cursor?: string;
}

interface Pages<Row, First> {
  /** Its fields other than the rows concern the whole list. */
  readonly first?: First;
  readonly rows?: readonly Row[];
  readonly error?: unknown;
  readonly hasMore: boolean;
  readonly isReading: boolean;
  readonly more: () => void;
  readonly again: () => void;
}

export function usePages<Row extends { readonly id?: string }, First extends Page<Row> = Page<Row>>(
  path: string,
  tenant?: string,
  everyMs?: Polling<readonly Row[]>,
): Pages<Row, First> {
  const { client } = useSession();
  const api = useApiOf(tenant);
  const observer = useMemo(
    () =>
      new InfiniteQueryObserver<First, Error, InfiniteData<First>, readonly unknown[], string | undefined>(client, {
        queryKey: [path, tenant, 'pages'],
        queryFn: ({ pageParam }) => api.get<First>(pageParam === undefined ? path : after(path, pageParam)),
        initialPageParam: undefined,
        getNextPageParam: ({ has_more: more, next_cursor: next, data }) =>
          more ? (next ?? data.at(-1)?.id) : undefined,
        refetchInterval: ({ state }) =>
          intervalOf(
            everyMs,
            state.data?.pages.flatMap(({ data }) => data),
          ),
        refetchOnWindowFocus: everyMs !== undefined,
      }),
    [client, api, path, tenant, everyMs],
  );
  const result = useObserver<InfiniteQueryObserverResult<InfiniteData<First>>>(observer);
  const [first] = result.data?.pages ?? [];
  return {
    ...(first === undefined ? {} : { first }),
    ...(result.data === undefined ? {} : { rows: result.data.pages.flatMap(({ data }) => data) }),
    ...failure(result.error),
    hasMore: result.hasNextPage,
    isReading: result.isFetching,
    more: () => void result.fetchNextPage(),
    again: () => void result.refetch(),
  };
}

function after(path: string, cursor: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}starting_after=${encodeURIComponent(cursor)}`;
}
