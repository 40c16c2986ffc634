/**
 * `node --test --test-global-setup=test/support/global.ts`: one database server, one browser and one service for all test
 * processes that can share them.
 */
import { startTestServer, TEMPLATE_VARIABLE, type TestServer } from './postgres.ts'
import type { TestService } from './service.ts'

let server: TestServer | undefined
let service: TestService | undefined

const filesIn = (...folders: readonly string[]) =>
  process.argv.filter((file) => folders.some((folder) => file.includes(folder))).length

export const globalSetup = async (): Promise<void> => {
  server = await startTestServer()
  process.env[TEMPLATE_VARIABLE] = server.templateUrl
  if (filesIn('test/browser/') > 0) await (await import('./browser.ts')).prepareBrowser()
  if (filesIn('test/contract/') > 1) service = await (await import('./service.ts')).startSharedService()
}

export const globalTeardown = async (): Promise<void> => {
  await service?.dispose()
  await server?.stop()
}
