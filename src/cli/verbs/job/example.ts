/** The job file that `muster job init` writes: one that is in order, with what most people change first. */
export const shortExample = `job "example" {
  datacenters = ["dc1"]

  group "cache" {
    network {
      port "db" {
        to = 6379
      }
    }

    task "redis" {
      driver = "docker"

      config {
        image = "redis:7"
        ports = ["db"]
      }

      resources {
        cpu    = 500
        memory = 256
      }
    }
  }
}
`

export const longExample = `# A value that is given with -var 'image=redis:8'.
variable "image" {
  type    = string
  default = "redis:7"
}

job "example" {
  # service: runs on. batch: ends. system: on every node.
  type        = "service"
  datacenters = ["dc1"]
  priority    = 50

  # Only on these nodes.
  constraint {
    attribute = "\${attr.kernel.name}"
    value     = "linux"
  }

  # How a new version replaces the old one.
  update {
    max_parallel     = 1
    min_healthy_time = "10s"
    healthy_deadline = "3m"
    auto_revert      = true
  }

  # What runs together on one node.
  group "cache" {
    count = 1

    network {
      # A free port of the node, which is port 6379 inside of the group's network.
      port "db" {
        to = 6379
      }
    }

    # How often the tasks are restarted on their node before the group is placed anew.
    restart {
      attempts = 2
      interval = "30m"
      delay    = "15s"
      mode     = "fail"
    }

    ephemeral_disk {
      size = 300
    }

    # Is in the catalog for as long as the allocation runs.
    service {
      name = "redis-cache"
      tags = ["global", "cache"]
      port = "db"

      check {
        name     = "alive"
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "redis" {
      driver = "docker"

      config {
        image = var.image
        ports = ["db"]
      }

      # Written before the task starts, and again when what it reads changes.
      template {
        data        = "port = \${NOMAD_PORT_db}\\n"
        destination = "local/redis.conf"
      }

      env {
        LOG_LEVEL = "info"
      }

      resources {
        cpu    = 500 # MHz
        memory = 256 # MB
      }
    }
  }
}
`
