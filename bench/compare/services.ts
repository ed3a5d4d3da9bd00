import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { createSandbox } from '../../sandbox/routes.ts';
import { emptyBooks } from '../../test/world/sandbox-books.ts';
import type { HttpRequest } from './http-gate.ts';

const WRITES = /\.(?:Put|Update|Delete|TransactWrite|BatchWrite)Items?$/;
const SECRET = JSON.stringify({ SecretString: 'the-secret-of-the-processor' });

export class Services {
  /** The clocks of all processes and of the processor are ahead by this time. */
  aheadMs = 0;
  #charges = 0;
  #events = 0;
  #writes = 0;
  readonly #endpoint: string;
  readonly #processor = this.#createProcessor();

  constructor({ awsEndpoint }: Pick<LocalAws, 'awsEndpoint'>) {
    this.#endpoint = awsEndpoint;
  }

  get charges(): number {
    return this.#charges;
  }

  get events(): number {
    return this.#events;
  }

  /** Counts only DynamoDB write calls that succeeded. */
  get writes(): number {
    return this.#writes;
  }

  async answer({ method, path, headers, body }: HttpRequest): Promise<Response> {
    const operation = headers['x-amz-target'];
    if (operation === undefined) {
      if (path.startsWith('/processor')) {
        const url = `http://processor.example${path.slice('/processor'.length)}`;
        return this.#processor.fetch(new Request(url, { method, headers, ...(method === 'GET' ? {} : { body }) }));
      }
      this.#events += 1;
      return new Response(null, { status: 202 });
    }
    if (operation.startsWith('secretsmanager')) return new Response(SECRET, { status: 200 });
    const { host: _host, connection: _connection, 'content-length': _length, ...passed } = headers;
    const response = await fetch(this.#endpoint, { method, headers: passed, body });
    if (response.ok && WRITES.test(operation)) this.#writes += 1;
    return response;
  }

  #createProcessor() {
    const books = emptyBooks();
    let ids = 0;
    return createSandbox({
      books: {
        ...books,
        add: async (...charge) => {
          const outcome = await books.add(...charge);
          if (outcome !== 'key_taken') this.#charges += 1;
          return outcome;
        },
      },
      tasks: { enqueue: async () => undefined },
      callbacks: { address: async () => undefined, secret: async () => '' },
      runner: idempotentRunner,
      nowMs: () => Date.now() + this.aheadMs,
      newId: (prefix) => {
        ids += 1;
        return `${prefix}${ids}`;
      },
      wait: async () => undefined,
    });
  }
}
