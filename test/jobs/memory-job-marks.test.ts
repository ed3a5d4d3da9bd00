import { describeJobMarks } from './job-marks-suite.ts';
import { MemoryJobMarks } from './memory-job-marks.ts';

describeJobMarks('memory', async () => new MemoryJobMarks());
