import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type KeyStore, type StoredOperation, storedIn } from './key-store.ts';

/**
 * Stores each operation in a separate file, for one machine with any number of processes. A row and the name of its
 * file are on disk before the row is used, so a crash of the process or the machine leaves either the whole row or
 * none.
 *
 * Files contain requests and responses, and are readable only by their owner. The folder must be on a local disk.
 *
 * @param folder created if it does not exist
 * @throws TypeError for a missing or empty folder
 */
export function fileKeys(folder: string): KeyStore {
  if (typeof folder !== 'string' || folder === '')
    throw new TypeError("fileKeys needs a folder, for example fileKeys('/var/lib/shop/payments')");
  const root = resolve(folder);
  let isSynced = false;
  const fileOf = (operation: string) => join(root, `${createHash('sha256').update(operation).digest('hex')}.json`);
  return {
    putIfAbsent: async (request) => {
      const created = await mkdir(root, { recursive: true, mode: 0o700 });
      if (created !== undefined || !isSynced) await syncNames(root);
      isSynced = true;
      const file = fileOf(request.operation);
      await writeDraft(root, request, async (draft) => {
        try {
          // Of two concurrent processes, only one can create the name. A rename would overwrite the other process's
          // file.
          await link(draft, file);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        }
      });
      // Sync the folder for an existing row, too: the writer of the row may have crashed before the file name was on
      // disk.
      await syncFolder(root);
      return storedIn(await readFile(file, 'utf8'));
    },
    keepAnswer: async (request, answer) => {
      await writeDraft(root, { ...request, answer }, (draft) => rename(draft, fileOf(request.operation)));
      await syncFolder(root);
    },
    // If another process stores a response at the same time, the refusal can replace that response. The next call then
    // gets the response again, with the same key.
    keepRefusal: async (request) => {
      const file = fileOf(request.operation);
      if (storedIn(await readFile(file, 'utf8')).answer !== undefined) return;
      await writeDraft(root, request, (draft) => rename(draft, file));
      await syncFolder(root);
    },
  };
}

/** @param use links or renames the file, which is complete and on disk */
async function writeDraft(root: string, row: StoredOperation, use: (draft: string) => Promise<void>): Promise<void> {
  const draft = join(root, `.${randomUUID()}.draft`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(JSON.stringify(row));
      await file.sync();
    } finally {
      await file.close();
    }
    await use(draft);
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Syncs the names of a folder and of all folders above it. Otherwise, a new folder could be lost together with its
 * rows. The process that created an existing folder may have crashed before it synced the name.
 */
async function syncNames(root: string): Promise<void> {
  for (let folder = root; folder !== dirname(folder); folder = dirname(folder)) {
    const parent = dirname(folder);
    try {
      await syncFolder(parent);
    } catch (error) {
      // If this process cannot write to the folder, ignore the error: the folder may be unreadable, or its file system
      // may be unable to sync folders.
      const isWritable = await access(parent, constants.W_OK).then(
        () => true,
        () => false,
      );
      if (isWritable) throw error;
    }
  }
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders, but the journal of its file system preserves the order of name changes.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
