import { useEffect, useState } from 'preact/hooks';
import { type Api, Refused, signIn } from './api.ts';
import { Loading, Trouble } from './parts.tsx';
import { forgetSession, keepSession, keptCredential } from './session.ts';
import { type Provider, readProvider, redirectUri, takePendingSignIn } from './sign-in-state.ts';

const protocol = () => import('./provider.ts');

/**
 * The code in the redirect is immediately removed from the address and the browser's history, and is used only once.
 */
let answer = new URLSearchParams(location.search).has('state') ? new URL(location.href) : undefined;
const asked = answer === undefined ? undefined : takePendingSignIn();
if (answer !== undefined) history.replaceState(undefined, '', `${redirectUri()}${asked?.hash ?? ''}`);

/** @returns undefined when the provider did not redirect the operator */
async function finishSignIn(provider: Provider, ended: () => void): Promise<Api | undefined> {
  const given = answer;
  answer = undefined;
  if (given === undefined) return undefined;
  if (asked === undefined) throw new Error('No sign-in was started in this tab. Sign in again.');
  return enter(await (await protocol()).tokenOf(provider, given, asked), ended);
}

async function enter(credential: string, ended: () => void): Promise<Api> {
  const api = await signIn(credential, ended);
  keepSession(credential);
  return api;
}

/**
 * @returns undefined if there is no session, if the API no longer accepts it, or if the provider redirected the
 * operator
 */
async function continueSession(ended: () => void): Promise<Api | undefined> {
  const kept = answer === undefined ? keptCredential() : undefined;
  if (kept === undefined) return undefined;
  try {
    return await signIn(kept, ended);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error;
    forgetSession();
    return undefined;
  }
}

interface Entered {
  readonly entered: (api: Api) => void;
  /** Called when the API no longer accepts the credential. */
  readonly ended: () => void;
}

export function SignIn({ hasEnded, ...whenIn }: Entered & { readonly hasEnded: boolean }) {
  const { entered, ended } = whenIn;
  const [provider, setProvider] = useState<Provider>();
  const [isKnown, setKnown] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const begin = async () => {
      const continued = await continueSession(ended);
      if (continued !== undefined) return entered(continued);
      const found = await readProvider();
      setProvider(found);
      setKnown(true);
      const api = found === undefined ? undefined : await finishSignIn(found, ended);
      if (api !== undefined) entered(api);
    };
    begin().catch(setError);
  }, [entered, ended]);
  return (
    <main class="narrow sign-in">
      <h1>Payonce console</h1>
      {hasEnded && (
        <p role="alert">
          Your sign-in has ended. Sign in again to continue on the same page. If an action got no response, the screen
          Activity shows whether it took effect.
        </p>
      )}
      {error !== undefined && <Trouble error={error} />}
      {!isKnown && error === undefined && <Loading />}
      {isKnown && provider === undefined && <WithKey {...whenIn} />}
      {provider !== undefined && (
        <>
          <p>Your identity provider, {new URL(provider.issuer).host}, identifies you.</p>
          <button
            type="button"
            class="main"
            onClick={() => {
              protocol()
                .then(({ leaveFor }) => leaveFor(provider))
                .catch(setError);
            }}
          >
            Sign in
          </button>
        </>
      )}
    </main>
  );
}

/** Only the error for a refused key changes. */
function explained(error: unknown, key: string): unknown {
  if (!(error instanceof Refused) || error.status !== 401) return error;
  const { status, code } = error;
  const detail = key.startsWith('sk_')
    ? 'This is the API key of a tenant. Enter the key of an operator, which begins with ok_.'
    : key.startsWith('ok_')
      ? 'No operator has this key, or it was revoked or has expired. Check that it is complete, or ask an owner for a new one.'
      : 'This is not the key of an operator, which begins with ok_.';
  return new Refused(status, { code, detail });
}

function WithKey({ entered, ended }: Entered) {
  const [key, setKey] = useState('');
  const [error, setError] = useState<unknown>();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        enter(key.trim(), ended).then(entered, (failed) => setError(explained(failed, key.trim())));
      }}
    >
      <label>
        Operator’s key
        <input
          type="password"
          autocomplete="off"
          required
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
      </label>
      <p class="soft-text">This tab keeps the key until you sign out or close the tab, for at most eight hours.</p>
      {error !== undefined && <Trouble error={error} />}
      <button type="submit" class="main">
        Sign in
      </button>
    </form>
  );
}
