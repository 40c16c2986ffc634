/**
 * The payment modules as a process: `node payout-child.ts <crash at> <database url> <partner and references, JSON> <now>`.
 * Prints each reference when its payout is answered, then how many crash points it passed; or crashes at the given point.
 */
import { writeSync } from 'node:fs'
import { createTestService, pay, type TestPartner } from '../support/composition.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', given = '', now = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const { partner, references } = JSON.parse(given) as { partner: TestPartner; references: readonly string[] }
const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const rounds = 3
const perRound = Math.ceil(references.length / rounds)
for (let at = 0; at < references.length; at += perRound)
  await Promise.all(
    references.slice(at, at + perRound).map(async (reference) => {
      await pay(service, partner, '1.00', { reference })
      // Synchronously, so that an answered reference is printed before the next crash point.
      writeSync(1, `${reference}\n`)
    }),
  )
await service.close()
process.stdout.write(String(passed()))
