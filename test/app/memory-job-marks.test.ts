import { MemoryJobMarks } from '../../lambdas/adapters/memory/memory-job-marks.ts';
import { describeJobMarks } from '../contract-suites/job-marks-suite.ts';

describeJobMarks('memory', async () => new MemoryJobMarks());
