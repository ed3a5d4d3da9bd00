import { ENDPOINTS } from '../../lambdas/api-docs/endpoints.ts';
import type { BodyDocs } from '../../lambdas/http/endpoint.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';

interface Example {
  readonly summary: string;
  readonly value: unknown;
}

interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Neither a reader nor a secret scanner must mistake an example for a real secret. */
function hidden(secret: string): string {
  return `${/^(?:sk_)?[a-z]+_/.exec(secret)?.[0] ?? ''}…`;
}

export class CapturedExamples {
  readonly operations: Record<string, Record<string, Record<string, Example>>> = {};

  constructor() {
    for (const { docs } of ENDPOINTS)
      for (const [name, { summary, value }] of Object.entries(requestsOf(docs)))
        this.request(docs.operationId, name, summary, value);
  }

  declared(operation: string, name: string) {
    const docs = ENDPOINTS.find((each) => each.docs.operationId === operation)?.docs;
    const example = docs === undefined ? undefined : requestsOf(docs)[name];
    invariant(example !== undefined, `${operation} has no example request of the name ${name}`);
    return example.value;
  }

  request<Body>(operation: string, name: string, summary: string, body: Body): Body {
    this.#keep(operation, 'request', name, { summary, value: body });
    return body;
  }

  /** Hides the secret of the response in the example. */
  answer<Given extends Answered>(operation: string, name: string, summary: string, answered: Given): Given {
    const { secret, ...rest } = answered.body;
    const value = typeof secret === 'string' ? { ...rest, secret: hidden(secret) } : answered.body;
    this.#keep(operation, String(answered.status), name, { summary, value });
    return answered;
  }

  #keep(operation: string, part: string, name: string, example: Example): void {
    const parts = (this.operations[operation] ??= {});
    const examples = (parts[part] ??= {});
    if (name in examples) throw new Error(`${operation} ${part} has two examples named ${name}`);
    examples[name] = example;
  }
}

function requestsOf(docs: BodyDocs): NonNullable<BodyDocs['requests']> {
  return docs.requests ?? {};
}
