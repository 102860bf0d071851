/** Jobs that are due. */
export const VIDEO_QUEUE = 'videos'
/** Canceled jobs whose render is to be ended at the engine. */
export const CANCEL_QUEUE = 'video-cancels'
export const VIDEO_QUEUES = [VIDEO_QUEUE, CANCEL_QUEUE] as const

/** Changed jobs are announced on this topic, to whoever keeps them in memory. */
export const VIDEO_TOPIC = 'video'
/** Canceled jobs, to the worker that has them. */
export const CANCEL_TOPIC = 'video-cancel'
