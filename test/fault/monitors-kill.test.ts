/** SIGKILL of the worker of monitors before and after each of its commits; another worker finds each crossing once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import {
  addWatched,
  crossedEventsOf,
  crossedMailsOf,
  crossingsOf,
  monitorSettings,
  moveMoney,
  toAda,
  untilCertain,
  addMonitor,
} from '../support/monitors.ts'

const monitors = 3
const turns = 4

const service = await useModules({ settings: monitorSettings })

/** A partner whose balance falls below 500.00 and returns, again and again, before a worker looks. */
async function addMoved() {
  const partner = await addWatched(service)
  const ids: string[] = []
  for (let made = 0; made < monitors; made += 1) ids.push((await addMonitor(service, partner, { notify: toAda })).id)
  for (let turn = 0; turn < turns; turn += 1) {
    await moveMoney(service, partner, -600_00n, `out-${turn}`)
    await moveMoney(service, partner, 600_00n, `back-${turn}`)
  }
  return { partner, ids }
}

test('after a kill at any point, each crossing of a monitor has one event and one mail', async (t) => {
  await killAtCrashPoints(t, { worker: 'monitors', pointsMin: 2 }, async (runWorker) => {
    const { partner, ids } = await addMoved()
    await untilCertain(service)
    await runWorker(service, { settings: monitorSettings })
    while ((await service.monitors.monitorStep()) > 0);
    const expected = Array.from({ length: turns }, (_, turn) => [
      `Triggered out-${turn}`,
      `Rearmed back-${turn}`,
    ]).flat()
    for (const id of ids)
      assert.deepEqual(
        (await crossingsOf(service, partner, id)).map(([kind, , reference]) => `${String(kind)} ${String(reference)}`),
        expected,
      )
    assert.equal((await crossedEventsOf(service, partner)).length, monitors * turns * 2)
    assert.equal((await crossedMailsOf(service, partner)).length, monitors * turns)
  })
})
