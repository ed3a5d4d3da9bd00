import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useState } from 'preact/hooks';

type Notify = (text: string) => void;

const Noticed = createContext<Notify>(() => undefined);

/** The text is shown until the operator closes it or opens another screen. */
export function useNotify(): Notify {
  return useContext(Noticed);
}

/** @param screen the path of the screen: a result is not shown on another screen */
export function Notices({ screen, children }: { readonly screen: string; readonly children: ComponentChildren }) {
  const [shown, setShown] = useState({ text: '', screen });
  const notify = useCallback((text: string) => setShown({ text, screen }), [screen]);
  const text = shown.screen === screen ? shown.text : '';
  return (
    <Noticed.Provider value={notify}>
      {children}
      {/* A screen reader announces changes of a region that exists before its text. */}
      <div class={text === '' ? '' : 'notice'}>
        <span role="status">{text}</span>
        {text !== '' && (
          <button type="button" class="quiet" onClick={() => notify('')}>
            Close message
          </button>
        )}
      </div>
    </Noticed.Provider>
  );
}
