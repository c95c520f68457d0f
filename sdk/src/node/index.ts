/** What only Node has: files. */
export { type FileStoreOptions, fileStore } from './file-store.ts'
