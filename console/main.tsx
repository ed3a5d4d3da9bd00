import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Api, signIn } from './api.ts';
import { Session, Trouble } from './parts.tsx';
import { Activity, Approvals, Differences, Jobs, Keys, Runs, Tenants } from './screens/lists.tsx';
import { Payment, Payments } from './screens/payment.tsx';
import { Queue, Waiting } from './screens/waiting.tsx';
import './style.css';

const SCREENS = [
  ['waiting', 'Waiting for work', Waiting],
  ['payments', 'Payments', Payments],
  ['differences', 'Differences', Differences],
  ['approvals', 'Approvals', Approvals],
  ['jobs', 'Jobs', Jobs],
  ['keys', 'Keys', Keys],
  ['tenants', 'Tenants', Tenants],
  ['activity', 'Activity', Activity],
] as const;

function screenOf(hash: string) {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', id] = path.split('/');
  const filters = new URLSearchParams(query);
  if (name === 'payments' && id !== undefined) return { name, shown: <Payment id={decodeURIComponent(id)} /> };
  if (name === 'waiting' && id !== undefined) return { name, shown: <Queue id={decodeURIComponent(id)} /> };
  if (name === 'jobs' && id !== undefined) return { name, shown: <Runs id={decodeURIComponent(id)} /> };
  const [found, , Screen] = SCREENS.find(([each]) => each === name) ?? SCREENS[0];
  return { name: found, shown: <Screen filters={filters} /> };
}

function Console() {
  const [api, setApi] = useState<Api>();
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  if (api === undefined) return <SignIn entered={setApi} />;
  const { name, shown } = screenOf(hash);
  return (
    <Session.Provider value={api}>
      <header>
        <strong>Payonce</strong>
        <nav aria-label="Screens">
          {SCREENS.map(([each, title]) => (
            <a key={each} href={`#/${each}`} aria-current={each === name ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <span>
          {api.self.operator} ({api.self.role}){' '}
          <button type="button" onClick={() => setApi(undefined)}>
            Sign out
          </button>
        </span>
      </header>
      <main key={hash}>{shown}</main>
    </Session.Provider>
  );
}

function SignIn({ entered }: { readonly entered: (api: Api) => void }) {
  const [key, setKey] = useState('');
  const [error, setError] = useState<unknown>();
  return (
    <main class="narrow">
      <h1>Payonce console</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn(key.trim()).then(entered, setError);
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
        <p>The key stays in the memory of this page. It is forgotten when the page is closed or reloaded.</p>
        {error !== undefined && <Trouble error={error} />}
        <button type="submit" class="main">
          Sign in
        </button>
      </form>
    </main>
  );
}

const place = document.getElementById('console');
if (place !== null) render(<Console />, place);
