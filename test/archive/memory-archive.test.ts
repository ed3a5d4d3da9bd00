import { describeArchiveBucket } from './archive-bucket-suite.ts';
import { MemoryArchive } from './memory-archive.ts';

describeArchiveBucket('in memory', async () => new MemoryArchive());
