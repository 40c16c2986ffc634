/**
 * Preloaded into a program. Writes at its end to the file LOADED_TO: its processor time, and with LOADED_FILES=on the files
 * that it has loaded, which takes time.
 */
import { writeFileSync } from 'node:fs'
import { getCompileCacheDir, registerHooks } from 'node:module'

const { LOADED_TO, LOADED_FILES } = process.env
const files = []
if (LOADED_FILES === 'on')
  registerHooks({
    load: (url, context, next) => {
      if (url.startsWith('file:')) files.push(url)
      return next(url, context)
    },
  })
process.once('exit', () => {
  const { user, system } = process.cpuUsage()
  writeFileSync(LOADED_TO, JSON.stringify({ files, cpuSeconds: (user + system) / 1e6, compiled: getCompileCacheDir() }))
})
