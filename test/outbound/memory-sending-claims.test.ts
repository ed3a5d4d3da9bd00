import { countingEntropy } from '../support/counting-entropy.ts';
import { MemorySendingClaims } from './memory-sending-claims.ts';
import { describeSendingClaims } from './sending-claims-suite.ts';

describeSendingClaims('memory', async (clock) => new MemorySendingClaims(clock, countingEntropy()));
