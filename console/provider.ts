import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  validateAuthResponse,
} from 'oauth4webapi';
import { type Asked, type Provider, redirectUri, STORED } from './sign-in-state.ts';

// Plain HTTP is for a local provider in tests. The settings of a deployment accept only https addresses.
const over = (issuer: URL) => ({ [allowInsecureRequests]: issuer.protocol === 'http:' });

async function discover({ issuer: given }: Provider) {
  const issuer = new URL(given);
  return processDiscoveryResponse(issuer, await discoveryRequest(issuer, over(issuer)));
}

/**
 * Requests a URL also as `resource` (RFC 8707). Some providers add an audience to a token only if it was requested.
 * Empty if the audience is the console itself.
 */
function audienceOf({ audience, clientId }: Provider): Readonly<Record<string, string>> {
  if (audience === clientId) return {};
  return URL.canParse(audience) ? { audience, resource: audience } : { audience };
}

/**
 * Redirects to the provider, which authenticates the operator (OpenID Connect Core 1.0, authorization code flow with
 * PKCE, RFC 7636).
 */
export async function leaveFor(provider: Provider): Promise<void> {
  const server = await discover(provider);
  if (server.authorization_endpoint === undefined) throw new Error('The identity provider has no sign-in page.');
  const asked: Asked = {
    verifier: generateRandomCodeVerifier(),
    state: generateRandomState(),
    nonce: generateRandomNonce(),
    hash: location.hash,
  };
  sessionStorage.setItem(STORED, JSON.stringify(asked));
  const to = new URL(server.authorization_endpoint);
  const query = {
    client_id: provider.clientId,
    redirect_uri: redirectUri(),
    response_type: 'code',
    scope: 'openid profile',
    state: asked.state,
    nonce: asked.nonce,
    code_challenge: await calculatePKCECodeChallenge(asked.verifier),
    code_challenge_method: 'S256',
    ...audienceOf(provider),
  };
  for (const [name, value] of Object.entries(query)) to.searchParams.set(name, value);
  location.assign(to);
}

/**
 * @returns the token for the API: the access token, or the ID token if the API's audience is the console itself
 * @throws Error when the redirect does not belong to a sign-in of this tab, or the provider returns no valid tokens
 */
export async function tokenOf(provider: Provider, answer: URL, asked: Asked): Promise<string> {
  const server = await discover(provider);
  const client = { client_id: provider.clientId };
  const parameters = validateAuthResponse(server, client, answer, asked.state);
  const response = await authorizationCodeGrantRequest(
    server,
    client,
    None(),
    parameters,
    redirectUri(),
    asked.verifier,
    {
      additionalParameters: audienceOf(provider),
      ...over(new URL(provider.issuer)),
    },
  );
  const tokens = await processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: asked.nonce,
    requireIdToken: true,
  });
  return provider.audience === provider.clientId ? (tokens.id_token ?? '') : tokens.access_token;
}
