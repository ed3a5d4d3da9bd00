import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

export const CLIENT = 'console';

const PAGE = `<!doctype html><title>Who are you?</title>
<form method="post"><label>Name <input name="name"></label><button>Continue</button></form>`;

/** The name that its page asks for determines the role. */
export class IdProvider {
  readonly issuer: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(audience: string, console: string): Promise<IdProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const started = new IdProvider(server);
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'ES256', use: 'sig' };
    started.#serve(new Provider(started.issuer, settings(key, audience, console)), audience);
    return started;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #serve(provider: Provider, audience: string): void {
    const answer = provider.callback();
    this.#server.on('request', (request, response) => {
      if (request.url?.startsWith('/who/') !== true) answer(request, response);
      else if (request.method === 'GET') response.setHeader('content-type', 'text/html').end(PAGE);
      else void letIn(provider, audience, request, response);
    });
  }
}

async function letIn(provider: Provider, audience: string, request: IncomingMessage, response: ServerResponse) {
  const accountId = new URLSearchParams(await text(request)).get('name') ?? '';
  const grant = new provider.Grant({ clientId: CLIENT, accountId });
  grant.addOIDCScope('openid profile');
  grant.addResourceScope(audience, 'admin');
  const grantId = await grant.save();
  await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } });
}

function settings(key: object, audience: string, console: string) {
  return {
    jwks: { keys: [key] },
    clients: [
      {
        client_id: CLIENT,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: [console],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    cookies: { keys: ['of-a-test'] },
    clientBasedCORS: () => true,
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    pkce: { required: () => true },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: (_context: unknown, { accountId }: { readonly accountId: string }) => ({ roles: [accountId] }),
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/who/${uid}` },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'admin',
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}
