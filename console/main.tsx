import { type ComponentChildren, render, type VNode } from 'preact';
import { useCallback, useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
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

/** Screens that show a single object. */
const ITEM_SCREENS: Readonly<Record<string, (props: { readonly id: string }) => VNode>> = {
  payments: Payment,
  waiting: Queue,
  jobs: Runs,
  inspector: Operation,
};

/** Decodes a segment of the address. Invalid encoding, which no link generates, is used verbatim. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function screenOf(hash: string) {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', encoded] = path.split('/');
  const filters = new URLSearchParams(query);
  const One = ITEM_SCREENS[name];
  if (One !== undefined && encoded !== undefined) return { name, shown: <One id={decoded(encoded)} /> };
  const [found, , All] = SCREENS.find(([each]) => each === name) ?? SCREENS[0];
  return { name: found, shown: <All filters={filters} /> };
}

function Console() {
  const [api, setApi] = useState<Api>();
  const [hasEnded, setEnded] = useState(false);
  const [hash, setHash] = useState(location.hash);
  const [first] = useState(hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const entered = useCallback((next: Api) => {
    setEnded(false);
    setApi(next);
  }, []);
  const ended = useCallback(() => {
    setEnded(true);
    setApi(undefined);
  }, []);
  if (api === undefined) return <SignIn hasEnded={hasEnded} entered={entered} ended={ended} />;
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
      <Screen key={hash} takesFocus={hash !== first}>
        {shown}
      </Screen>
    </Session.Provider>
  );
}

/**
 * Shows the screen for the page's address. Updates the page title and the focus, so that a screen reader announces the
 * change.
 */
function Screen({ takesFocus, children }: { readonly takesFocus: boolean; readonly children: ComponentChildren }) {
  const boundary = useErrorBoundary();
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${main.current?.querySelector('h1')?.textContent ?? 'Error'} – Payonce console`;
    if (takesFocus) main.current?.focus();
    // On a phone, the list of screens is a scrolling row. Keep the current screen in view.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [takesFocus]);
  return (
    <main ref={main} tabIndex={-1}>
      {boundary[0] === undefined ? (
        children
      ) : (
        <p role="alert" class="trouble">
          This address cannot be shown. Choose a screen.
        </p>
      )}
    </main>
  );
}

const place = document.getElementById('console');
if (place !== null) render(<Console />, place);
