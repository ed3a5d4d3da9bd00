import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Api } from './api.ts';
import { Session } from './parts.tsx';
import { Audit } from './screens/audit.tsx';
import { Books } from './screens/books.tsx';
import { Exports } from './screens/exports.tsx';
import { Inspector, Operation } from './screens/inspector.tsx';
import { Keys } from './screens/keys.tsx';
import { Activity, Approvals, Differences, Jobs, Runs, Tenants } from './screens/lists.tsx';
import { Overview } from './screens/overview.tsx';
import { Payment } from './screens/payment.tsx';
import { Payments } from './screens/payments.tsx';
import { Queue, Waiting } from './screens/waiting.tsx';
import { Webhooks } from './screens/webhooks.tsx';
import { SignIn } from './sign-in.tsx';
import './style.css';

const SCREENS = [
  ['overview', 'Overview', Overview],
  ['waiting', 'Waiting for work', Waiting],
  ['payments', 'Payments', Payments],
  ['books', 'Books', Books],
  ['exports', 'Exports', Exports],
  ['differences', 'Differences', Differences],
  ['approvals', 'Approvals', Approvals],
  ['webhooks', 'Webhooks', Webhooks],
  ['jobs', 'Jobs', Jobs],
  ['inspector', 'Key inspector', Inspector],
  ['keys', 'Keys', Keys],
  ['tenants', 'Tenants', Tenants],
  ['activity', 'Activity', Activity],
  ['audit', 'Audit', Audit],
] as const;

function screenOf(hash: string) {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', id] = path.split('/');
  const filters = new URLSearchParams(query);
  if (name === 'payments' && id !== undefined) return { name, shown: <Payment id={decodeURIComponent(id)} /> };
  if (name === 'waiting' && id !== undefined) return { name, shown: <Queue id={decodeURIComponent(id)} /> };
  if (name === 'jobs' && id !== undefined) return { name, shown: <Runs id={decodeURIComponent(id)} /> };
  if (name === 'inspector' && id !== undefined) return { name, shown: <Operation id={decodeURIComponent(id)} /> };
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

const place = document.getElementById('console');
if (place !== null) render(<Console />, place);
