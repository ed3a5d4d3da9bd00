import { type Command, InvalidArgumentError } from 'commander';
import { advanceClock, durationOf, UNITS_MS } from '../local/clock.ts';
import { StateFile } from '../local/state-file.ts';
import { isoTime, type Session } from './session.ts';

const MAX_DAYS = 3_650;

export function addClock(program: Command, session: Session): void {
  const clock = program.command('clock').description('shows and advances the clock of the local stack');

  clock
    .command('show', { isDefault: true })
    .description('shows the time of the local stack, and how far it is ahead of this machine')
    .action(async () => {
      await session.localStack();
      show(session, new StateFile(session.directory).clockOffsetMs());
    });

  clock
    .command('advance')
    .argument('<duration>', 'in days, hours, minutes or seconds: 3d, 12h, 30m, 45s', readDuration)
    .description(
      'advances the local clock, so that webhooks and schedules become due, and holds and keys expire; the clock never goes back',
    )
    .action(async (byMs: number) => {
      show(session, await advanceClock(await session.localStack(), byMs));
    });
}

function show(session: Session, offsetMs: number): void {
  const timeMs = Date.now() + offsetMs;
  const ahead = offsetMs === 0 ? 'the time of this machine' : `${durationOf(offsetMs)} ahead of this machine`;
  session.show({ time: Math.floor(timeMs / 1000), ahead_seconds: offsetMs / 1000 }, [`${isoTime(timeMs)}, ${ahead}`]);
}

function readDuration(text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,8})([dhms])$/.exec(text) ?? [];
  const durationMs = Number(count) * (UNITS_MS[unit as keyof typeof UNITS_MS] ?? Number.NaN);
  if (durationMs <= MAX_DAYS * UNITS_MS.d) return durationMs;
  throw new InvalidArgumentError(`it must be a duration up to ${MAX_DAYS}d, for example 3d, 12h, 30m or 45s.`);
}
