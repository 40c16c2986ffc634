/** Preloaded into a process: writes at its end which files it has loaded and what it used, to the file in LOADED_TO. */
import { writeFileSync } from 'node:fs'
import { getCompileCacheDir, registerHooks } from 'node:module'

const urls = []
registerHooks({
  load: (url, context, next) => {
    urls.push(url)
    return next(url, context)
  },
})
process.once('exit', () => {
  const { user, system } = process.cpuUsage()
  const files = urls.filter((url) => url.startsWith('file:') && url !== import.meta.url)
  writeFileSync(
    process.env.LOADED_TO,
    JSON.stringify({ files, cpuMs: (user + system) / 1000, compiled: getCompileCacheDir() }),
  )
})
