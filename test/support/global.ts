/** `node --test --test-global-setup=test/support/global.ts`: one database server and one browser for all test processes. */
import { startTestServer, TEMPLATE_VARIABLE, type TestServer } from './postgres.ts'

let server: TestServer | undefined

export const globalSetup = async (): Promise<void> => {
  server = await startTestServer()
  process.env[TEMPLATE_VARIABLE] = server.templateUrl
  const needsBrowser = process.argv.some((file) => file.includes('test/browser/'))
  if (needsBrowser) await (await import('./browser.ts')).prepareBrowser()
}

export const globalTeardown = async (): Promise<void> => {
  await server?.stop()
}
