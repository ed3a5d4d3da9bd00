import { words } from '../show.ts';

const PLACES: Readonly<Record<string, readonly [column: number, row: number]>> = {
  processing: [0, 0],
  requires_action: [1, 1],
  requires_capture: [1, 2],
  needs_review: [1, 3],
  succeeded: [2, 0],
  failed: [2, 1],
  canceled: [2, 2],
};
const WIDE = 150;
const HIGH = 28;
const ACROSS = 190;
const DOWN = 42;

export function StateDiagram({ statuses }: { readonly statuses: readonly string[] }) {
  const visited = statuses.filter((status, index) => status !== statuses[index - 1]);
  const now = visited.at(-1);
  return (
    <svg
      class="states"
      viewBox={`0 0 ${2 * ACROSS + WIDE + 2} ${3 * DOWN + HIGH + 2}`}
      role="img"
      aria-label={`Statuses: ${visited.map(words).join(', then ')}`}
    >
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      {visited.slice(1).map((status, index) => (
        <Step key={`${index} ${status}`} from={visited[index] ?? status} to={status} />
      ))}
      {Object.keys(PLACES).map((status) => {
        const [x, y] = place(status);
        const kind = status === now ? 'now' : visited.includes(status) ? 'been' : 'never';
        return (
          <g key={status} class={kind}>
            <rect x={x} y={y} width={WIDE} height={HIGH} rx="6" />
            <text x={x + WIDE / 2} y={y + HIGH / 2}>
              {words(status)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

function Step({ from, to }: { readonly from: string; readonly to: string }) {
  const [fromX, fromY] = place(from);
  const [toX, toY] = place(to);
  if (fromX === toX) {
    const isDown = toY > fromY;
    const x = fromX + WIDE / 2;
    return (
      <line x1={x} y1={fromY + (isDown ? HIGH : 0)} x2={x} y2={toY + (isDown ? 0 : HIGH)} marker-end="url(#tip)" />
    );
  }
  const isRight = toX > fromX;
  const ends = [toX + (isRight ? 0 : WIDE), toY + HIGH / 2].join(' ');
  // Route the arrow above a column that lies in between.
  const over = Math.abs(toX - fromX) > ACROSS ? `H ${toX - (2 * (ACROSS - WIDE)) / 3}` : '';
  return (
    <path
      d={`M ${fromX + (isRight ? WIDE : 0)} ${fromY + HIGH / 2} ${over} L ${ends}`}
      fill="none"
      marker-end="url(#tip)"
    />
  );
}

function place(status: string): readonly [x: number, y: number] {
  const [column, row] = PLACES[status] ?? [0, 1];
  return [column * ACROSS + 1, row * DOWN + 1];
}
