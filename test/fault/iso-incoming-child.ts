/**
 * A process that takes the files of a bank and applies what they mean: `node iso-incoming-child.ts <crash at> <database url> <folders> <now>`.
 * Runs until there is nothing to do and prints how many crash points it passed, or crashes at the given point.
 */
import type { Database } from '../../service/src/postgres/index.ts'
import type { Transport } from '../../service/src/banks/files/deps.ts'
import { createTestService } from '../support/composition.ts'
import { createIncomingBank, foldersIn } from '../support/iso-incoming.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', root = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createCrashPoints(Number(crashAt))

const around = async <T>(call: () => Promise<T>): Promise<T> => {
  point()
  const answer = await call()
  point()
  return answer
}
/** Before and after each statement that writes by itself what was done with a file. Transactions have points of their own. */
const withSingles = (db: Database): Database => ({
  ...db,
  run: (statement) =>
    /rails\.(?:insert|finish)Message /.test(statement.parts[0] ?? '')
      ? around(() => db.run(statement))
      : db.run(statement),
})
/** Before and after each operation on the bank's folder, and within a copy. */
const withPoints = (transport: Transport): Transport => ({
  ...transport,
  read: async function* read(name, offset, signal) {
    for await (const chunk of transport.read(name, offset, signal)) {
      yield chunk.subarray(0, 100)
      point()
      yield chunk.subarray(100)
    }
  },
  finish: (name, signal) => around(() => transport.finish(name, signal)),
})

const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const wrapped = { ...service, db: withSingles(wrapDatabase(service.db)) }
await createIncomingBank(wrapped, foldersIn(root), { wrapTransport: withPoints }).work()
await service.close()
process.stdout.write(String(passed()))
