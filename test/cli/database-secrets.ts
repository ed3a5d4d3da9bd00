import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { AwsTarget } from '../../cli/deployment.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';

export class DatabaseSecrets {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param urls keyed by the names of the secrets */
  static async start(urls: ReadonlyMap<string, string>): Promise<DatabaseSecrets> {
    const answer = async (request: IncomingMessage): Promise<object> => {
      const { SecretId } = (await json(request)) as { readonly SecretId: string };
      if (request.headers['x-amz-target'] !== 'secretsmanager.GetSecretValue') return {};
      const { host, port, database, user, password } = parseServerUrl(urls.get(SecretId) ?? '');
      return { SecretString: JSON.stringify({ host, port, dbname: database, username: user, password }) };
    };
    const server = createServer(
      (request, response) => void answer(request).then((body) => response.end(JSON.stringify(body))),
    );
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return new DatabaseSecrets(server);
  }

  get target(): AwsTarget {
    return {
      region: 'eu-west-1',
      endpoint: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`,
      credentials: { accessKeyId: 'id', secretAccessKey: 'key' },
    };
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => void this.#server.close(resolve));
  }
}
