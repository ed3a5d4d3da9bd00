import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CreateFunctionCommand,
  DeleteFunctionCommand,
  GetFunctionCommand,
  InvokeCommand,
  LambdaClient,
  paginateListFunctions,
  ResourceNotFoundException,
  waitUntilFunctionActiveV2,
} from '@aws-sdk/client-lambda';
import { listenerOf } from '../../examples/listener.ts';
import type { GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

export class CopiedFunctions {
  readonly #client: LambdaClient;
  readonly #server: Server;
  /** The key is the first segment of the paths. */
  readonly #copies = new Map<string, string>();

  private constructor(client: LambdaClient, server: Server) {
    this.#client = client;
    this.#server = server;
  }

  static async start(): Promise<CopiedFunctions> {
    const { awsEndpoint: endpoint, region } = localAws();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const started = new CopiedFunctions(new LambdaClient({ endpoint, region, credentials: CREDENTIALS }), server);
    server.on(
      'request',
      listenerOf((request) => started.#answer(request)),
    );
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * @param path first segment of the paths that the copy serves
   * @param construct start of the function's logical id
   * @param code a ZIP archive; by default, the code of the original
   * @returns the name of the copy, and the name of the role that it shares with the original
   */
  async copy(
    path: string,
    construct: string,
    variables: Readonly<Record<string, string>>,
    code?: Uint8Array,
  ): Promise<{ readonly name: string; readonly role: string }> {
    const FunctionName = `${construct}-${crypto.randomUUID()}`;
    const { Code, Configuration: { Role, Handler, Runtime, Timeout, MemorySize, Environment } = {} } =
      await this.#client.send(new GetFunctionCommand({ FunctionName: await this.#named(construct) }));
    this.#copies.set(path, FunctionName);
    await this.#client.send(
      new CreateFunctionCommand({
        FunctionName,
        Role,
        Handler,
        Runtime,
        Timeout,
        MemorySize,
        Code: { ZipFile: code ?? (await codeAt(Code?.Location)) },
        Environment: { Variables: { ...Environment?.Variables, ...variables } },
      }),
    );
    await waitUntilFunctionActiveV2({ client: this.#client, maxWaitTime: 600, minDelay: 1 }, { FunctionName });
    return { name: FunctionName, role: Role?.split('/').at(-1) ?? '' };
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    for (const FunctionName of this.#copies.values())
      await this.#client.send(new DeleteFunctionCommand({ FunctionName })).catch((error: unknown) => {
        // The function was never created, or an earlier attempt of this request deleted it.
        if (!(error instanceof ResourceNotFoundException)) throw error;
      });
    this.#client.destroy();
  }

  async #named(construct: string): Promise<string> {
    for await (const { Functions = [] } of paginateListFunctions({ client: this.#client }, {})) {
      const found = Functions.find(({ FunctionName = '' }) => FunctionName.startsWith(`PayonceService-${construct}`));
      if (found?.FunctionName !== undefined) return found.FunctionName;
    }
    throw new Error(`no function ${construct} is deployed`);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const FunctionName = this.#copies.get(pathname.split('/')[1] ?? '');
    if (FunctionName === undefined) return new Response(null, { status: 404 });
    const event = gatewayEvent(request.method, `${pathname}${search}`, Object.fromEntries(request.headers));
    const text = await request.text();
    const { Payload = new Uint8Array() } = await this.#client.send(
      new InvokeCommand({ FunctionName, Payload: JSON.stringify({ ...event, body: text === '' ? null : text }) }),
    );
    const { statusCode, headers, body } = JSON.parse(Buffer.from(Payload).toString()) as GatewayResult;
    return new Response(body === '' ? null : body, {
      status: statusCode,
      headers: headers as Record<string, string>,
    });
  }
}

async function codeAt(location = ''): Promise<Uint8Array> {
  // The local AWS serves the code only to callers with the credentials of its own run.
  const authorization = `AWS4-HMAC-SHA256 Credential=${localAws().accessKeyId}/20260101/us-east-1/lambda/aws4_request`;
  const code = await fetch(location, { headers: { authorization } });
  invariant(code.ok, `the code of a function was answered with ${code.status}`);
  return new Uint8Array(await code.arrayBuffer());
}
