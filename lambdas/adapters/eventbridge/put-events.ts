import { signedHeaders } from './signature.ts';

/** One entry (Amazon EventBridge API reference, "PutEventsRequestEntry"). */
export interface PutEventsEntry {
  readonly EventBusName: string;
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
}

export interface PutEventsResult {
  readonly EventId?: string;
  readonly ErrorCode?: string;
}

/** The one operation of EventBridge that is needed. @throws EventBridgeFault when the whole call failed */
export type PutEvents = (entries: readonly PutEventsEntry[]) => Promise<readonly PutEventsResult[]>;

/** The bus did not take the call. */
export class EventBridgeFault extends Error {
  override readonly name = 'EventBridgeFault';
  /** Undefined when there was no answer at all. */
  readonly status: number | undefined;
  /** As EventBridge names it, for example `ThrottlingException`. */
  readonly code: string;

  constructor(code: string, status?: number, options?: ErrorOptions) {
    super(`EventBridge: ${code}`, options);
    this.code = code;
    this.status = status;
  }
}

/** A healthy call takes some ten milliseconds. */
const TIMEOUT_MS = 5_000;

/**
 * Calls EventBridge with the credentials, the region and the endpoint that Lambda puts into the environment. Makes one
 * attempt: retries belong to one layer, and it knows which entries failed.
 */
export function putEventsOverHttps(environment: Readonly<Record<string, string | undefined>>): PutEvents {
  const region = environment['AWS_REGION'] ?? 'us-east-1';
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const endpoint =
    environment['AWS_ENDPOINT_URL_EVENTBRIDGE'] ??
    environment['AWS_ENDPOINT_URL'] ??
    `https://events.${region}.${suffix}`;
  return async (entries) => {
    const body = JSON.stringify({ Entries: entries });
    const url = new URL('/', endpoint);
    const headers = signedHeaders(
      { host: url.host, target: 'AWSEvents.PutEvents', body },
      {
        accessKeyId: environment['AWS_ACCESS_KEY_ID'] ?? '',
        secretAccessKey: environment['AWS_SECRET_ACCESS_KEY'] ?? '',
        sessionToken: environment['AWS_SESSION_TOKEN'],
      },
      { region, service: 'events', at: new Date() },
    );
    const { status, text } = await post(url, headers, body);
    const answer = parsed(text);
    if (status !== 200) throw new EventBridgeFault(codeOf(answer), status);
    const { Entries: results } = answer as { readonly Entries?: readonly PutEventsResult[] };
    if (results?.length !== entries.length) throw new EventBridgeFault('UnexpectedAnswer', 500);
    return results;
  };
}

async function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    throw new EventBridgeFault('NoAnswer', undefined, { cause: error });
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** `com.amazonaws.events#ThrottlingException` and `ThrottlingException` are the same (Smithy, "AWS JSON 1.1 protocol"). */
function codeOf(answer: Readonly<Record<string, unknown>>): string {
  const type = answer['__type'];
  return typeof type === 'string' ? (type.split('#').at(-1) ?? type) : 'Unknown';
}
