interface Example {
  readonly summary: string;
  readonly value: unknown;
}

/** The part of an answer that is shown. */
interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The kind of a secret only: a reader, or a scanner, must not take an example for a secret in use. */
function hidden(secret: string): string {
  return `${/^(?:sk_)?[a-z]+_/.exec(secret)?.[0] ?? ''}…`;
}

/** Requests as they were sent and answers as they came back, by operation and status. */
export class CapturedExamples {
  readonly operations: Record<string, Record<string, Record<string, Example>>> = {};

  /** @returns the body itself, to be sent */
  request<Body>(operation: string, name: string, summary: string, body: Body): Body {
    this.#keep(operation, 'request', name, { summary, value: body });
    return body;
  }

  /** @returns the answer itself */
  answer<Given extends Answered>(operation: string, name: string, summary: string, answered: Given): Given {
    const { secret, ...rest } = answered.body;
    const value = typeof secret === 'string' ? { ...rest, secret: hidden(secret) } : answered.body;
    this.#keep(operation, String(answered.status), name, { summary, value });
    return answered;
  }

  #keep(operation: string, part: string, name: string, example: Example): void {
    const parts = (this.operations[operation] ??= {});
    const examples = (parts[part] ??= {});
    if (name in examples) throw new Error(`${operation} ${part} has two examples of the name ${name}`);
    examples[name] = example;
  }
}
