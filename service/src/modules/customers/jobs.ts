/** The jobs of customers: names and states of verification from before they were kept, erasures, records that are kept too long. */
import { defineJob, type Job } from '../../jobs/index.ts'
import { minuteMs } from '../../kernel/index.ts'
import type { Erasures } from './erasure.ts'
import type { KeptRecords } from './kept-records.ts'
import type { Customers } from './service.ts'
import { erasuresDue } from './store-erasures.ts'
import { placesDue } from './store-kept.ts'

export const customerJobs = (
  customers: Pick<Customers, 'indexNamesStep' | 'verifyStep'>,
  { erasures, keptRecords }: { readonly erasures: Erasures; readonly keptRecords: KeptRecords },
): readonly Job[] => [
  defineJob({ name: 'customers.names', everyMs: minuteMs, run: customers.indexNamesStep }),
  defineJob({ name: 'customers.verifications', everyMs: minuteMs, run: customers.verifyStep }),
  defineJob({ name: 'customers.erasures', due: erasuresDue, run: erasures.step, age: { queue: 'erasures' } }),
  defineJob({
    name: 'customers.kept_records',
    due: placesDue,
    // A new partner has no place yet.
    everyMs: minuteMs,
    run: keptRecords.step,
    age: { queue: 'kept_records' },
  }),
]
