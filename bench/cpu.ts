import { readFileSync } from 'node:fs';
import { runningProcesses } from '../local/processes.ts';

/** Length of the clock tick in which Linux reports CPU times, in milliseconds (`man 5 proc`, USER_HZ). */
const TICK_MS = 10;
/**
 * Indexes, from 0, of the four CPU times among the fields after the program's name in `/proc/<pid>/stat`: user and
 * system time of the process, and of its ended children.
 */
const CPU_TIMES = [11, 12, 13, 14];

export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Returns NaN on other systems than Linux. */
export function groupCpuMs(group: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  return runningProcesses()
    .filter((each) => each.group === group)
    .reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
}

function cpuMsOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return CPU_TIMES.reduce((sum, at) => sum + Number(fields[at]) * TICK_MS, 0);
  } catch {
    // The process ended after it was listed.
    return 0;
  }
}
