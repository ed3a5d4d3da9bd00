import type { ArchiveObject } from '../../lambdas/archive/domain/archive-object.ts';
import type { ArchiveObjects } from '../../lambdas/archive/use/archive-lines.ts';

/** A bucket in memory: an object is written once and stays. */
export class MemoryArchive implements ArchiveObjects {
  readonly objects = new Map<string, ArchiveObject>();

  async put(object: ArchiveObject): Promise<'written' | 'there'> {
    if (this.objects.has(object.name)) return 'there';
    this.objects.set(object.name, object);
    return 'written';
  }

  /** The lines of all objects, without line feeds. */
  get lines(): readonly string[] {
    return [...this.objects.values()].flatMap(({ text }) => text.trimEnd().split('\n'));
  }
}
