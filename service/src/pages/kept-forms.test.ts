/** Every form of the console and the desk has a row that states what happens to it if the session has ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useModules } from '../../../test/support/fixture.ts'
import { consoleForms, deskForms, type KeptRow } from '../../../test/support/kept-forms.ts'
import type { PublicSite } from '../kernel/api/index.ts'
import { createConsoleSite, createDeskSite } from './index.ts'

test('every form of the console and the desk is kept after its session ended, or has a reason why not', async () => {
  const modules = await useModules()
  const deps = {
    ...modules,
    sandbox: true,
    brand: {},
    operate: undefined,
    download: undefined,
  }
  // The routes are listed and not called.
  const team = await createConsoleSite(deps as never)
  const staff = await createDeskSite({ ...deps, changes: {}, partners: {}, bankFiles: {}, runbooks: {} } as never)
  const formsOf = ({ routes }: PublicSite) => [
    ...new Set(routes.flatMap(({ method, path }) => (method === 'POST' ? [path] : []))),
  ]
  const rows = (table: Readonly<Record<string, KeptRow>>) => Object.keys(table).toSorted()
  assert.deepEqual(formsOf(team).toSorted(), rows(consoleForms))
  assert.deepEqual(formsOf(staff).toSorted(), rows(deskForms))
})
