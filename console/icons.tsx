/** Paths of the icons, drawn on a square of 24 units. */
const PATHS = {
  overview: 'M4 4h7v9H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 15h7v5H4z',
  payments: 'M3 6h18v12H3zM3 10h18M7 15h3',
  books: 'M4 5c3-1 6-1 8 1 2-2 5-2 8-1v13c-3-1-6-1-8 1-2-2-5-2-8-1zM12 6v13',
  exports: 'M12 4v10M8 10l4 4 4-4M4 18v2h16v-2',
  waiting: 'M4 13h4l2 3h4l2-3h4M4 13l3-8h10l3 8v6H4z',
  differences: 'M12 4v16M8 20h8M5 8h14M5 8l-2 6h4zM19 8l-2 6h4z',
  approvals: 'M4 12a8 8 0 1 0 16 0 8 8 0 1 0-16 0M8.5 12l2.5 2.5 4.5-5',
  jobs: 'M4 12a8 8 0 1 0 16 0 8 8 0 1 0-16 0M12 7v5l3 2',
  webhooks: 'M6 6h12v12H6zM3 12h3M18 12h3M12 3v3M12 18v3',
  keys: 'M4 15a4 4 0 1 0 8 0 4 4 0 1 0-8 0M11 12l9-8M16 7l3 3',
  inspector: 'M4 10.5a6.5 6.5 0 1 0 13 0 6.5 6.5 0 1 0-13 0M15.5 15.5 20 20M8 10.5h5',
  tenants: 'M4 20V8l8-4 8 4v12M4 20h16M9 20v-5h6v5M9 11h.01M15 11h.01',
  operators: 'M8.5 8a3.5 3.5 0 1 0 7 0 3.5 3.5 0 1 0-7 0M5 20c0-4 3-6 7-6s7 2 7 6',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  audit: 'M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4',
  search: 'M4 11a7 7 0 1 0 14 0 7 7 0 1 0-14 0M16 16l5 5',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  done: 'M5 12l5 5 9-10',
  menu: 'M4 7h16M4 12h16M4 17h16',
  refresh: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
} as const;

export type IconName = keyof typeof PATHS;

/** The text next to it, or the label of its button, carries the meaning. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
