import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface RunningProcess {
  readonly pid: number;
  /** Process group id. */
  readonly group: number;
  readonly commandLine: string;
}

export function runningProcesses(): readonly RunningProcess[] {
  // Slim Linux images have no `ps`.
  return process.platform === 'linux' ? fromProcFileSystem() : fromPs();
}

export function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function fromProcFileSystem(): readonly RunningProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // "pid (name) state parent group …"; the name can contain spaces and brackets.
        const status = readFileSync(`/proc/${name}/stat`, 'utf8');
        const [state = '', , group = ''] = status.slice(status.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z') return [];
        const commandLine = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), group: Number(group), commandLine }];
      } catch {
        // The process has ended since it was listed.
        return [];
      }
    });
}

function fromPs(): readonly RunningProcess[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,pgid=,stat=,args='], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return table.split('\n').flatMap((line) => {
    const [, pid, group, state = '', commandLine = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || state.startsWith('Z') ? [] : [{ pid: Number(pid), group: Number(group), commandLine }];
  });
}
